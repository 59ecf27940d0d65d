-- Deliveries that are held until someone resends them, by destination. Their reason says what to do.
CREATE INDEX "Delivery_until_resent" ON "Delivery" ((coalesce("webhookId", "connectorId")), "id") WHERE "outcome" IS NULL AND "nextAttemptAt" IS NULL AND "reason" <> 'paused' AND "reason" <> 'ordering';

-- A notice about such a delivery is open for as long as the delivery is held. If the delivery is resent and held again, the
-- notice is opened again.
CREATE FUNCTION note_held_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW."outcome" IS NULL AND NEW."nextAttemptAt" IS NULL AND NEW."reason" <> 'paused' THEN
    PERFORM open_notice(NEW."projectId", 'delivery.held', NEW."id", coalesce(c."name", c."type"), NEW."reason", '0')
    FROM "Connector" c WHERE c."id" = NEW."connectorId";
  ELSE
    PERFORM close_notices(OLD."id", ARRAY['delivery.held']);
  END IF;
  RETURN NULL;
END $$;

-- Neither trigger does anything when a delivery is created, claimed, finished, or retried.
CREATE TRIGGER "Delivery_note_held" AFTER UPDATE OF "nextAttemptAt", "reason" ON "Delivery"
  FOR EACH ROW WHEN (
    (OLD."outcome" IS NULL AND OLD."nextAttemptAt" IS NULL AND coalesce(OLD."reason", 'paused') NOT IN ('paused', 'ordering'))
    <> (NEW."outcome" IS NULL AND NEW."nextAttemptAt" IS NULL AND coalesce(NEW."reason", 'paused') NOT IN ('paused', 'ordering'))
  ) EXECUTE FUNCTION note_held_delivery();
CREATE TRIGGER "Delivery_note_held_deleted" AFTER DELETE ON "Delivery"
  FOR EACH ROW WHEN (
    OLD."outcome" IS NULL AND OLD."nextAttemptAt" IS NULL AND coalesce(OLD."reason", 'paused') NOT IN ('paused', 'ordering')
  ) EXECUTE FUNCTION note_held_delivery();
