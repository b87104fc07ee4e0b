"""The names of a LiteLLM proxy config, as read in 2026-11.

Sections: docs.litellm.ai/docs/proxy/config_settings (repository BerriAI/litellm-docs). At the top, by a model_name and
in litellm_params: what BerriAI/litellm reads in litellm/proxy/proxy_server.py (ProxyConfig.load_config),
litellm/proxy/_types.py (ConfigYAML, ConfigGeneralSettings), litellm/types/router.py (LiteLLM_Params, Deployment) and
litellm/types/litellm_params.py (strategies). litellm_settings sets attributes of the module, so those of
litellm/__init__.py that an operator would set are here too.
"""

from __future__ import annotations

__all__ = ["ENTRY", "PARAMS", "SECTIONS", "STRATEGIES", "TOP"]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TOP = _names("""
    model_list litellm_settings router_settings general_settings environment_variables include
    guardrails policies policy_attachments prompts credential_list callback_settings worker_registry
    mcp_servers mcp_tools agent_list vector_store_registry search_tools
    assistant_settings finetune_settings files_settings default_vertex_config
""")
# Strategies that go by usage read tpm and rpm also here.
ENTRY = _names("model_name litellm_params model_info tpm rpm")
PARAMS = _names("""
    model api_key api_base base_url api_version organization custom_llm_provider litellm_credential_name region_name
    rpm tpm itpm otpm max_parallel_requests default_api_key_rpm_limit default_api_key_tpm_limit weight order
    timeout stream_timeout ttft_timeout stream_idle_timeout max_retries num_retries cooldown_time keepalive_seconds
    allow_client_keepalive_override
    temperature max_tokens drop_params additional_drop_params allowed_openai_params extra_headers extra_body
    input_cost_per_token output_cost_per_token input_cost_per_second output_cost_per_second max_budget budget_duration
    aws_access_key_id aws_secret_access_key aws_session_token aws_region_name aws_session_name aws_profile_name
    aws_role_name aws_web_identity_token aws_sts_endpoint aws_external_id aws_session_tags
    aws_bedrock_runtime_endpoint aws_bedrock_project_id aws_batch_role_arn bedrock_tags
    s3_bucket_name s3_endpoint_url s3_region_name s3_access_key_id s3_secret_access_key s3_encryption_key_id
    s3_bucket_owner s3_output_bucket_name gcs_bucket_name bucket_name
    vertex_project vertex_location vertex_credentials watsonx_region_name
    azure_ad_token azure_scope azure_username azure_password tenant_id client_id client_secret
    tags tag_regex model_info mock_response merge_reasoning_content_in_choices max_file_size_mb
    use_in_pass_through use_litellm_proxy use_chat_completions_api use_xai_oauth provider_affinity_header
    configurable_clientside_auth_params cache_control_injection_points
    auto_router_config_path auto_router_config auto_router_default_model auto_router_embedding_model
    complexity_router_config complexity_router_default_model adaptive_router_config adaptive_router_default_model
    quality_router_config quality_router_default_model vector_store_id
""")
SECTIONS: dict[str, tuple[str, ...]] = {
    "litellm_settings": _names("""
        success_callback failure_callback callbacks service_callback audit_log_callbacks turn_off_message_logging
        redact_user_api_key_info redact_messages_in_exceptions langfuse_default_tags langfuse_enable_update_trace_keys
        langsmith_batch_size standard_logging_payload_excluded_fields log_raw_request_response store_audit_logs
        generic_logger_headers s3_callback_params datadog_params datadog_llm_observability_params
        aws_sqs_callback_params dynamodb_table_name
        set_verbose json_logs request_correlation_in_logs telemetry suppress_debug_info expose_router_debug_in_errors
        drop_params modify_params add_function_to_prompt disable_stop_sequence_limit enable_preview_features
        enable_json_schema_validation return_response_headers include_cost_in_streaming_usage custom_prompt_dict
        request_timeout num_retries num_retries_per_request max_fallbacks fallbacks default_fallbacks
        context_window_fallbacks content_policy_fallbacks allowed_fails model_alias_map model_group_settings
        force_ipv4 http2 ssl_verify ssl_certificate ssl_security_level disable_aiohttp_transport aiohttp_trust_env
        disable_aiohttp_trust_env forward_traceparent_to_llm_provider filter_invalid_headers
        add_user_information_to_llm_headers overwrite_user_with_key_hash
        cache cache_params enable_redis_auth_cache default_in_memory_ttl default_redis_ttl
        default_redis_batch_cache_expiry enable_caching_on_provider_specific_optional_params
        max_budget budget_duration budget_reset_time default_soft_budget budget_exceeded_throttle_percentage
        max_user_budget max_internal_user_budget default_max_internal_user_budget internal_user_budget_duration
        max_end_user_budget max_end_user_budget_id max_ui_session_budget tag_budget_config validate_end_user_id_in_db
        disable_end_user_cost_tracking disable_end_user_cost_tracking_prometheus_only
        enable_end_user_cost_tracking_prometheus_only cost_discount_config cost_margin_config
        key_generation_settings default_key_generate_params upperbound_key_generate_params
        default_key_max_budget_alert_emails enable_key_alias_format_validation
        default_internal_user_params default_team_params default_team_settings
        require_auth_for_metrics_endpoint prometheus_metrics_config prometheus_initialize_budget_metrics
        prometheus_latency_buckets custom_prometheus_metadata_labels custom_prometheus_tags
        extra_spend_tag_headers disable_add_user_agent_to_request_tags
        priority_reservation priority_reservation_settings public_model_groups public_model_groups_links
        public_mcp_servers public_agent_groups mcp_aliases
        guardrails skip_system_message_in_guardrail skip_tool_message_in_guardrail blocked_user_list
        banned_keywords_list output_parse_pii
        user_url_validation user_url_allowed_hosts provider_url_destination_allowed_hosts require_managed_files
        enable_loadbalancing_on_batch_endpoints disable_hf_tokenizer_download disable_token_counter
        disable_streaming_logging disable_copilot_system_to_assistant disable_add_transform_inline_image_block
        use_chat_completions_url_for_anthropic_messages route_all_chat_openai_to_responses strip_anthropic_total_tokens
        enable_anthropic_prompt_caching anthropic_prompt_caching_ttl
    """),
    "router_settings": _names("""
        routing_strategy routing_strategy_args routing_groups weights plugins optional_pre_call_checks
        enable_pre_call_checks enable_tag_filtering tag_filtering_match_any tag_routing_prefix
        enable_weighted_failover deployment_affinity_ttl_seconds model_group_affinity_config
        fallbacks default_fallbacks context_window_fallbacks content_policy_fallbacks max_fallbacks
        fallback_access_check fallback_budget_check
        num_retries max_retries retry_after retry_policy model_group_retry_policy timeout stream_timeout ttft_timeout
        stream_idle_timeout keepalive_seconds allow_client_keepalive_override
        allowed_fails allowed_fails_policy cooldown_time disable_cooldowns
        enable_health_check_routing background_health_check_model_groups health_check_staleness_threshold
        health_check_ignore_transient_errors
        model_group_alias default_litellm_params default_max_parallel_requests default_priority polling_interval
        redis_host redis_port redis_password redis_url redis_db cache_responses cache_kwargs caching_groups client_ttl
        provider_budget_config router_general_settings ignore_invalid_deployments alerting_config assistants_config
        search_tools guardrail_list debug_level set_verbose
    """),
    "general_settings": _names("""
        master_key completion_model embedding_model image_generation_model moderation_model infer_model_from_keys
        database_url database_type database_args database_connection_pool_limit database_connection_pool_timeout
        database_connection_timeout database_connect_timeout database_socket_timeout database_statement_timeout
        database_lock_timeout database_extra_connection_params database_disable_prepared_statements
        disable_prisma_schema_update allow_requests_on_db_unavailable store_model_in_db supported_db_objects
        coordination_redis use_redis_transaction_buffer proxy_config_reload_interval_seconds scheduled_job_stagger
        store_prompts_in_spend_logs disable_spend_logs disable_spend_updates disable_error_logs
        proxy_batch_write_at proxy_batch_polling_interval use_spend_logs_partitioning
        maximum_spend_logs_retention_period maximum_spend_logs_retention_interval maximum_spend_logs_cleanup_cron
        maximum_spend_logs_cleanup_batch_size maximum_spend_logs_cleanup_max_batches
        maximum_spend_logs_cleanup_run_budget maximum_spend_logs_cleanup_batch_timeout
        maximum_autorouter_session_retention_period maximum_health_check_retention_period spend_report_frequency
        scope_spend_list_endpoints_to_caller legacy_unscoped_spend_list_endpoints
        proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time disable_reset_budget
        fail_closed_budget_enforcement disable_budget_reservation apply_user_budget_to_team_keys
        enforce_fallback_model_access enforce_fallback_budget
        max_parallel_requests global_max_parallel_requests max_in_flight_requests_per_worker
        max_queued_requests_per_worker admission_queue_timeout_seconds cancel_on_disconnect token_rate_limit_type
        disable_retry_on_max_parallel_request_limit_error
        disable_batch_input_file_rate_limiting skip_batch_input_file_rate_limiting_for_providers
        skip_batch_input_file_rate_limiting_for_models
        max_request_size_mb max_response_size_mb max_batch_file_size_mb max_file_size_mb allowed_file_extensions
        blocked_file_extensions
        alerting alerting_threshold alerting_args alert_types alert_type_config alert_to_webhook_url
        background_health_checks background_health_check_model_groups health_check_interval health_check_details
        health_check_concurrency health_check_skip_disabled_background_models health_check_staleness_threshold
        health_check_ignore_transient_errors enable_health_check_routing use_shared_health_check
        model_list_healthy_only enable_drain_endpoint drain_endpoint_token
        custom_auth custom_auth_run_common_checks custom_sso custom_ui_sso_sign_in_handler custom_key_generate
        custom_key_update custom_key_policy enable_jwt_auth litellm_jwtauth enable_oauth2_auth
        enable_oauth2_proxy_auth oauth2_config_mappings allow_user_auth allow_client_side_credentials
        service_account_settings role_permissions enforce_rbac enforce_user_param enforced_params missing_session_id
        reject_clientside_metadata_tags user_header_name user_header_mappings litellm_key_header_name
        user_api_key_cache_ttl user_api_key_cache_max_size disable_master_key_return
        disable_adding_master_key_hash_to_db default_team_disabled disable_auto_add_proxy_admin_to_teams
        allowed_routes admin_only_routes public_routes allowed_ips use_x_forwarded_for trusted_proxy_ranges
        disable_responses_id_security allow_unmanaged_response_ids
        key_management_system key_management_settings use_google_kms use_azure_key_vault litellm_license
        pass_through_endpoints pass_through_request_timeout use_client_credentials_pass_through_routes
        forward_client_headers_to_llm_api forward_llm_provider_auth_headers forward_openai_org_id
        always_include_stream_usage sse_keepalive_ping_interval_seconds
        ui_access_mode auto_redirect_ui_login_to_sso disable_env_credential_login enable_public_model_hub
        max_failed_login_attempts max_failed_login_attempts_per_source failed_login_window_seconds
        allow_cli_sso_verification_uri_complete control_plane_url plugins
        enable_mcp_registry user_mcp_management_mode mcp_client_side_auth_header_name mcp_internal_ip_ranges
        mcp_required_fields mcp_trusted_proxy_ranges mcp_xff_num_trusted_hops require_end_user_mcp_access_defined
        require_key_mcp_access_defined search_tools otel
        user_url_validation user_url_allowed_hosts provider_url_destination_allowed_hosts
    """),
}
STRATEGIES = _names("""
    simple-shuffle least-busy usage-based-routing usage-based-routing-v2 latency-based-routing cost-based-routing
    provider-budget-routing lar1
""")
