-- What owners call their webhooks and connectors. Processes of the previous version leave it out.
ALTER TABLE "Webhook" ADD COLUMN "name" TEXT;
ALTER TABLE "Connector" ADD COLUMN "name" TEXT;

-- Notices about a destination say its name. The rest of the function is unchanged.
-- Compares a destination's problem before and after a change. A run of failures counts only once it has lasted five
-- minutes. A paused destination that the service has resumed stays a problem until a delivery succeeds. Only the owner's
-- changes and the service's own stops change "updatedAt", so a run of failures that ends without that is a recovery.
CREATE OR REPLACE FUNCTION note_destination() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  problems CONSTANT text[] := ARRAY['destination.failing', 'destination.paused', 'destination.disabled'];
  name text;
  was_notified boolean;
  was_paused CONSTANT boolean := OLD."isActive" AND OLD."pausedReason" IS NOT NULL;
  is_paused CONSTANT boolean := NEW."isActive" AND NEW."pausedReason" IS NOT NULL;
  was_failing CONSTANT boolean := OLD."isActive" AND OLD."failingSince" IS NOT NULL;
  is_failing CONSTANT boolean := NEW."isActive" AND NEW."failingSince" IS NOT NULL;
BEGIN
  IF NEW."projectId" <> OLD."projectId" THEN
    PERFORM close_notices(NEW."id", problems || ARRAY['deliveries.expiring', 'credential.expiring', 'vendor.shutdown']);
    RETURN NULL;
  END IF;
  name := coalesce(NEW."name", CASE TG_TABLE_NAME
    WHEN 'Webhook' THEN coalesce(substring(to_jsonb(NEW) ->> 'url' FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#@]+)'), 'webhook')
    ELSE to_jsonb(NEW) ->> 'type'
  END);
  IF NEW."disabledReason" IS NOT NULL THEN
    IF OLD."disabledReason" IS NULL THEN
      was_notified := close_notices(NEW."id", problems);
      PERFORM open_notice(NEW."projectId", 'destination.disabled', NEW."id", name, NEW."disabledReason", '0');
    END IF;
  ELSIF is_paused THEN
    IF NOT was_paused THEN
      was_notified := close_notices(NEW."id", problems);
      PERFORM open_notice(NEW."projectId", 'destination.paused', NEW."id", name, NEW."pausedReason", '0');
    END IF;
  ELSIF is_failing THEN
    IF NOT was_failing AND NOT was_paused THEN
      PERFORM open_notice(NEW."projectId", 'destination.failing', NEW."id", name, NULL, '5 minutes');
    END IF;
  ELSIF close_notices(NEW."id", problems) AND was_failing AND NEW."updatedAt" = OLD."updatedAt" THEN
    PERFORM note_moment(NEW."projectId", 'destination.recovered', NEW."id", name);
  END IF;
  -- The contacts already know about a problem, so they are notified when it ends, even if they don't learn about this one.
  IF was_notified THEN
    UPDATE "Notice" SET "notifiedAt" = statement_timestamp()
    WHERE "subjectId" = NEW."id" AND "type" = ANY (problems) AND "closedAt" IS NULL AND "notifiedAt" IS NULL;
  END IF;
  RETURN NULL;
END $$;
