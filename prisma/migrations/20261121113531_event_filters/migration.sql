-- AlterTable
ALTER TABLE "Webhook" ADD COLUMN     "filter" JSON;

-- AlterTable
ALTER TABLE "Connector" ADD COLUMN     "filter" JSON;
