-- AlterEnum
ALTER TYPE "ApiKeyScope" ADD VALUE 'PAYMENTS';
