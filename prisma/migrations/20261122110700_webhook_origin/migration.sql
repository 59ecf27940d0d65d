-- Scheme, host and port of each URL, in lower case and without the default port. Those of new webhooks are written as URL
-- parsers write them.
ALTER TABLE "Webhook" ADD COLUMN "origin" TEXT;
UPDATE "Webhook" SET "origin" = regexp_replace(
  regexp_replace(lower(substring("url" from '^[^/]+//[^/?#]+')), '^(https://.*):443$', '\1'), '^(http://.*):80$', '\1'
);
