-- AlterTable
ALTER TABLE "Event" ADD COLUMN     "traceContext" TEXT;
