-- AlterTable
ALTER TABLE "Attempt" ADD COLUMN     "connectMs" INTEGER,
ADD COLUMN     "dnsMs" INTEGER,
ADD COLUMN     "firstByteMs" INTEGER,
ADD COLUMN     "requestHeaders" JSON,
ADD COLUMN     "requestMethod" TEXT,
ADD COLUMN     "requestUrl" TEXT,
ADD COLUMN     "responseHeaders" JSON,
ADD COLUMN     "tlsMs" INTEGER;
