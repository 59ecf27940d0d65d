-- Notices tell a project's owner that something stopped.
CREATE TABLE "Notice" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "subjectId" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "detail" TEXT,
    "count" INTEGER NOT NULL DEFAULT 1,
    "firstAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "lastAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "closedAt" TIMESTAMPTZ(3),
    "readAt" TIMESTAMPTZ(3),
    "dueAt" TIMESTAMPTZ(3),
    "notifiedAt" TIMESTAMPTZ(3),
    "updatedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),

    CONSTRAINT "Notice_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "Notice_projectId_id_idx" ON "Notice"("projectId", "id");
CREATE INDEX "Notice_projectId_updatedAt_id_idx" ON "Notice"("projectId", "updatedAt", "id");
CREATE INDEX "Notice_subjectId_type_idx" ON "Notice"("subjectId", "type");
ALTER TABLE "Notice" ADD CONSTRAINT "Notice_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- While a notice is open, another one of its type about the same thing joins it.
CREATE UNIQUE INDEX "Notice_open" ON "Notice" ("projectId", "type", "subjectId") WHERE "closedAt" IS NULL;
CREATE INDEX "Notice_due" ON "Notice" ("dueAt", "projectId") WHERE "dueAt" IS NOT NULL;
CREATE INDEX "Notice_unread" ON "Notice" ("projectId") WHERE "readAt" IS NULL;
CREATE INDEX "Notice_closed" ON "Notice" ("closedAt") WHERE "closedAt" IS NOT NULL;

CREATE TABLE "NoticeContacts" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "emails" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "webhookUrl" TEXT NOT NULL DEFAULT '',
    "webhookSecret" TEXT NOT NULL DEFAULT '',
    "slackUrl" TEXT NOT NULL DEFAULT '',
    "weeklyDigest" BOOLEAN NOT NULL DEFAULT true,
    "nextMessageAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "messageStep" INTEGER NOT NULL DEFAULT 0,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "updatedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),

    CONSTRAINT "NoticeContacts_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "NoticeContacts_projectId_key" ON "NoticeContacts"("projectId");
ALTER TABLE "NoticeContacts" ADD CONSTRAINT "NoticeContacts_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE TRIGGER "NoticeContacts_project" BEFORE INSERT ON "NoticeContacts" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();

CREATE TABLE "NoticeMessage" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "channel" TEXT NOT NULL,
    "recipient" TEXT NOT NULL DEFAULT '',
    "content" JSON NOT NULL,
    "attemptCount" INTEGER NOT NULL DEFAULT 0,
    "nextAttemptAt" TIMESTAMPTZ(3) DEFAULT statement_timestamp(),
    "sentAt" TIMESTAMPTZ(3),
    "error" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),

    CONSTRAINT "NoticeMessage_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "NoticeMessage_projectId_idx" ON "NoticeMessage"("projectId");
CREATE INDEX "NoticeMessage_due" ON "NoticeMessage" ("nextAttemptAt") WHERE "nextAttemptAt" IS NOT NULL;

CREATE TABLE "WeeklyDigest" (
    "projectId" TEXT NOT NULL,
    "week" DATE NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),

    CONSTRAINT "WeeklyDigest_pkey" PRIMARY KEY ("projectId","week")
);

-- An ID as src/ids.ts makes it: a UUIDv7 in base32.
CREATE FUNCTION new_id(prefix text) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT prefix || '_' || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', substring(bits FROM digit * 5 + 1 FOR 5)::bit(5)::int + 1, 1), '' ORDER BY digit)
  FROM (
    SELECT B'00' || floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint::bit(48) || B'0111'
      || substring(('x' || replace(gen_random_uuid()::text, '-', ''))::bit(128) FROM 53)
  ) AS id(bits), generate_series(0, 25) AS digit
$$;

-- Opens a notice. If one of its type about the same subject is open, or closed less than an hour ago, it is counted
-- there. A recovery that nobody has been notified about yet is forgotten: for the contacts, the problem never ended.
CREATE FUNCTION open_notice(
  project text, notice_type text, subject_id text, subject_name text, why text, hold interval
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  forgotten boolean;
BEGIN
  DELETE FROM "Notice" WHERE "subjectId" = subject_id AND "type" = 'destination.recovered' AND "dueAt" IS NOT NULL;
  forgotten := FOUND;
  UPDATE "Notice" SET
    "count" = "count" + 1, "subject" = subject_name, "detail" = why, "lastAt" = statement_timestamp(),
    "updatedAt" = statement_timestamp(), "readAt" = NULL, "closedAt" = NULL,
    "notifiedAt" = CASE WHEN "closedAt" IS NULL OR forgotten THEN "notifiedAt" END,
    "dueAt" = CASE
      WHEN "closedAt" IS NULL THEN "dueAt"
      WHEN forgotten AND "notifiedAt" IS NOT NULL THEN NULL
      ELSE statement_timestamp() + hold
    END
  WHERE "id" = (
    SELECT n."id" FROM "Notice" n
    WHERE n."subjectId" = subject_id AND n."type" = notice_type AND n."projectId" = project
      AND (n."closedAt" IS NULL OR n."closedAt" > statement_timestamp() - interval '1 hour')
    ORDER BY n."closedAt" DESC NULLS FIRST LIMIT 1
  );
  IF FOUND THEN RETURN; END IF;
  INSERT INTO "Notice" ("id", "projectId", "type", "subjectId", "subject", "detail", "dueAt")
  VALUES (new_id('ntc'), project, notice_type, subject_id, subject_name, why, statement_timestamp() + hold)
  ON CONFLICT ("projectId", "type", "subjectId") WHERE "closedAt" IS NULL
    DO UPDATE SET "count" = "Notice"."count" + 1, "lastAt" = statement_timestamp(), "updatedAt" = statement_timestamp();
END $$;

-- Records something that is over the moment it happens.
CREATE FUNCTION note_moment(project text, notice_type text, subject_id text, subject_name text)
RETURNS void LANGUAGE sql AS $$
  INSERT INTO "Notice" ("id", "projectId", "type", "subjectId", "subject", "closedAt", "dueAt")
  VALUES (new_id('ntc'), project, notice_type, subject_id, subject_name, statement_timestamp(), statement_timestamp())
$$;

-- Closes open notices of these types about a subject. Returns whether the contacts were notified about one of them.
CREATE FUNCTION close_notices(subject_id text, types text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  was_notified boolean;
BEGIN
  WITH closed AS (
    UPDATE "Notice" SET "closedAt" = statement_timestamp(), "updatedAt" = statement_timestamp(), "dueAt" = NULL
    WHERE "subjectId" = subject_id AND "type" = ANY (types) AND "closedAt" IS NULL
    RETURNING "notifiedAt"
  )
  SELECT coalesce(bool_or("notifiedAt" IS NOT NULL), false) INTO was_notified FROM closed;
  RETURN was_notified;
END $$;

-- Compares a destination's problem before and after a change. A run of failures counts only once it has lasted five
-- minutes. A paused destination that the service has resumed stays a problem until a delivery succeeds. Only the owner's
-- changes and the service's own stops change "updatedAt", so a run of failures that ends without that is a recovery.
CREATE FUNCTION note_destination() RETURNS trigger LANGUAGE plpgsql AS $$
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
  name := CASE TG_TABLE_NAME
    WHEN 'Webhook' THEN coalesce(substring(to_jsonb(NEW) ->> 'url' FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#@]+)'), 'webhook')
    ELSE to_jsonb(NEW) ->> 'type'
  END;
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

CREATE TRIGGER "Webhook_notice"
  AFTER UPDATE OF "failingSince", "pausedReason", "disabledReason", "isActive", "projectId" ON "Webhook"
  FOR EACH ROW WHEN (
    (OLD."failingSince" IS NULL) <> (NEW."failingSince" IS NULL) OR OLD."isActive" <> NEW."isActive"
    OR OLD."pausedReason" IS DISTINCT FROM NEW."pausedReason" OR OLD."disabledReason" IS DISTINCT FROM NEW."disabledReason"
    OR OLD."projectId" <> NEW."projectId"
  ) EXECUTE FUNCTION note_destination();
CREATE TRIGGER "Connector_notice"
  AFTER UPDATE OF "failingSince", "pausedReason", "disabledReason", "isActive", "projectId" ON "Connector"
  FOR EACH ROW WHEN (
    (OLD."failingSince" IS NULL) <> (NEW."failingSince" IS NULL) OR OLD."isActive" <> NEW."isActive"
    OR OLD."pausedReason" IS DISTINCT FROM NEW."pausedReason" OR OLD."disabledReason" IS DISTINCT FROM NEW."disabledReason"
    OR OLD."projectId" <> NEW."projectId"
  ) EXECUTE FUNCTION note_destination();

CREATE FUNCTION note_lost_host() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_moment(NEW."id", 'host.lost', NEW."id", OLD."gatewayHost");
  RETURN NULL;
END $$;
-- A deleted project changes its owner.
CREATE TRIGGER "Project_notice"
  AFTER UPDATE OF "gatewayHost" ON "Project"
  FOR EACH ROW WHEN (
    OLD."gatewayHost" IS NOT NULL AND NEW."gatewayHost" IS DISTINCT FROM OLD."gatewayHost" AND NEW."userId" = OLD."userId"
  ) EXECUTE FUNCTION note_lost_host();

-- A hint on the bus, sent when the transaction commits.
CREATE FUNCTION hint_notice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('tollgate', 'notices:' || NEW."projectId");
  RETURN NULL;
END $$;
CREATE TRIGGER "Notice_hint" AFTER INSERT OR UPDATE OF "updatedAt" ON "Notice" FOR EACH ROW EXECUTE FUNCTION hint_notice();
