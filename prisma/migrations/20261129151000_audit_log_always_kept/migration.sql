-- Superusers can turn off ordinary triggers for their session, with session_replication_role. These run in every session.
-- If another role owns the table, the service isn't a superuser, and can't turn them off anyway.
DO $$
BEGIN
  IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = '"AuditEntry"'::regclass), 'USAGE') THEN
    ALTER TABLE "AuditEntry"
      ENABLE ALWAYS TRIGGER "AuditEntry_kept",
      ENABLE ALWAYS TRIGGER "AuditEntry_all_kept";
  END IF;
END $$;
