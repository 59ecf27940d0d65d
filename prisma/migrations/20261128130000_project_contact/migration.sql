-- How buyers can reach the seller: an email address or a URL. Processes of the previous version neither read nor write it.
ALTER TABLE "Project" ADD COLUMN "contact" TEXT;
