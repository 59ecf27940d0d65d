-- Times are those of the database and never of the process that writes: the client leaves out what has such a default.
-- AlterTable
ALTER TABLE "User" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Project" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "updatedAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Endpoint" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "updatedAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "ApiKey" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Webhook" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "updatedAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Connector" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "updatedAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Event" ALTER COLUMN "timestamp" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Delivery" ALTER COLUMN "nextAttemptAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "updatedAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "AuditEntry" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Replay" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "updatedAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "IdempotencyKey" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Payment" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp(),
ALTER COLUMN "updatedAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "Customer" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp();

-- AlterTable
ALTER TABLE "DailySummary" ALTER COLUMN "createdAt" SET DEFAULT statement_timestamp();
