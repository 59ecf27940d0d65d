-- CreateEnum
CREATE TYPE "WebhookOrdering" AS ENUM ('NONE', 'PAYMENT');

-- AlterTable
ALTER TABLE "Webhook" ADD COLUMN     "ordering" "WebhookOrdering" NOT NULL DEFAULT 'NONE',
ADD COLUMN     "orderingEscapeAfterAttempts" INTEGER NOT NULL DEFAULT 4,
ADD COLUMN     "payloadVersion" INTEGER NOT NULL DEFAULT 1;

-- AlterTable
ALTER TABLE "Delivery" ADD COLUMN     "orderingKey" TEXT;

-- Unfinished deliveries that have an order, and those of them that wait for their turn. Empty where nothing is ordered.
CREATE INDEX "Delivery_ordering" ON "Delivery" ("webhookId", "orderingKey", "eventId") WHERE "orderingKey" IS NOT NULL AND "status" IN ('PENDING', 'RUNNING');
CREATE INDEX "Delivery_waiting" ON "Delivery" ("updatedAt") WHERE "status" = 'PENDING' AND "nextAttemptAt" IS NULL AND "orderingKey" IS NOT NULL;
