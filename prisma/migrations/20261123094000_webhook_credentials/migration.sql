-- Webhooks get their own headers, authentication, time limit, and retry schedule. Processes of the previous version ignore them.
CREATE TYPE "RetrySchedule" AS ENUM ('STANDARD', 'SHORT', 'LONG', 'NONE');

ALTER TABLE "Webhook" ADD COLUMN "timeoutSeconds" INTEGER,
ADD COLUMN "retrySchedule" "RetrySchedule" NOT NULL DEFAULT 'STANDARD',
ADD COLUMN "credentials" JSONB,
ADD COLUMN "secretCredentials" TEXT;

-- Access tokens that webhooks get with their OAuth clients.
CREATE TABLE "WebhookToken" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "sealed" TEXT NOT NULL DEFAULT '',
    "expiresAt" TIMESTAMPTZ(3),
    "generation" INTEGER NOT NULL DEFAULT 0,
    "leaseUntil" TIMESTAMPTZ(3),

    CONSTRAINT "WebhookToken_pkey" PRIMARY KEY ("id")
);
ALTER TABLE "WebhookToken" ADD CONSTRAINT "WebhookToken_id_fkey" FOREIGN KEY ("id") REFERENCES "Webhook"("id") ON DELETE CASCADE ON UPDATE CASCADE;
