-- AlterTable
ALTER TABLE "Webhook" ADD COLUMN     "circuitOpenUntil" TIMESTAMPTZ(3),
ADD COLUMN     "maxPerSecond" INTEGER;

-- AlterTable
ALTER TABLE "Connector" ADD COLUMN     "circuitOpenUntil" TIMESTAMPTZ(3),
ADD COLUMN     "maxPerSecond" INTEGER;

-- First tries and retries are due apart from each other, so that either can be found however many there are of the other.
DROP INDEX "Delivery_due";
CREATE INDEX "Delivery_due" ON "Delivery" ((least("attemptCount", 1)), "nextAttemptAt") WHERE "status" = 'PENDING';
DROP INDEX "Delivery_destination_due";
CREATE INDEX "Delivery_destination_due" ON "Delivery" ((coalesce("webhookId", "connectorId")), (least("attemptCount", 1)), "nextAttemptAt") WHERE "status" = 'PENDING' AND "nextAttemptAt" IS NOT NULL;

-- What is asked for by hand goes out though its destination is left alone otherwise.
CREATE INDEX "Delivery_by_hand" ON "Delivery" ((coalesce("webhookId", "connectorId")), "nextAttemptAt") WHERE "status" = 'PENDING' AND "trigger" = 'MANUAL';
