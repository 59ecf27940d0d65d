-- AlterTable
ALTER TABLE "IdempotencyKey" ADD COLUMN     "changedAt" TIMESTAMPTZ(3);
