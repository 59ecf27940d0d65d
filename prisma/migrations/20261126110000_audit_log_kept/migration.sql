-- Entries of the audit log can only be added. A transferred project's entries move to its new owner's account; nothing
-- else about an entry ever changes.
CREATE FUNCTION keep_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  moved "AuditEntry";
BEGIN
  IF TG_OP = 'UPDATE' THEN
    moved := OLD;
    moved."userId" := (SELECT "userId" FROM "Project" WHERE "id" = OLD."projectId");
    IF NEW IS NOT DISTINCT FROM moved THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE insufficient_privilege USING MESSAGE = 'entries of the audit log can''t be changed or deleted';
END $$;

CREATE TRIGGER "AuditEntry_kept" BEFORE UPDATE OR DELETE ON "AuditEntry"
  FOR EACH ROW EXECUTE FUNCTION keep_audit_entries();
CREATE TRIGGER "AuditEntry_all_kept" BEFORE TRUNCATE ON "AuditEntry"
  FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_entries();
