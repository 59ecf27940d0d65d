-- Deleted projects, webhooks, and connectors belong to this account until their history is cleared in the background. No
-- token can name it: an issuer is never empty.
INSERT INTO "User" ("id", "issuer", "subject") VALUES ('usr_00000000000000000000000000', '', 'deleted');
INSERT INTO "Project" ("id", "userId", "name", "walletAddress")
VALUES ('proj_00000000000000000000000000', 'usr_00000000000000000000000000', 'Deleted', '0x0000000000000000000000000000000000000000');

-- While its history is being cleared, a deleted project rejects new resources as if its row were gone.
CREATE FUNCTION reject_deleted_project() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM "Project" WHERE "id" = NEW."projectId" AND "userId" <> 'usr_00000000000000000000000000' FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE foreign_key_violation USING
      MESSAGE = 'the project is deleted', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_TABLE_NAME || '_projectId_fkey';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER "Endpoint_project" BEFORE INSERT ON "Endpoint" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();
CREATE TRIGGER "ApiKey_project" BEFORE INSERT ON "ApiKey" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();
CREATE TRIGGER "Webhook_project" BEFORE INSERT ON "Webhook" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();
CREATE TRIGGER "Connector_project" BEFORE INSERT ON "Connector" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();
CREATE TRIGGER "Replay_project" BEFORE INSERT ON "Replay" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();
CREATE TRIGGER "Payment_project" BEFORE INSERT ON "Payment" FOR EACH ROW EXECUTE FUNCTION reject_deleted_project();
