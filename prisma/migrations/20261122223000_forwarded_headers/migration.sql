-- Request headers that the upstream gets in addition to the usual ones. Adding the column doesn't rewrite the table.
ALTER TABLE "Endpoint" ADD COLUMN "forwardedHeaders" TEXT[] DEFAULT ARRAY[]::TEXT[];
