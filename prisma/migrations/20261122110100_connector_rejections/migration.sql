-- AlterTable
ALTER TABLE "Connector" ADD COLUMN     "rejectedSince" TIMESTAMPTZ(3),
ADD COLUMN     "rejection" TEXT,
ADD COLUMN     "rejectionCount" INTEGER NOT NULL DEFAULT 0;
