-- Secrets in URLs were kept in events, attempts and the audit log. They are masked here, by the rule of
-- src/secrets/mask-url.ts. Only rows that hold one are written: nobody who reads waits, and a URL is looked at once,
-- however many rows have it.

CREATE FUNCTION pg_temp.mask_parameter(parameter text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN parameter = '' THEN ''
    ELSE coalesce((regexp_match(parameter, '^([^=]{1,24}=)[^=]'))[1], '') || '••••'
  END
$$;

CREATE FUNCTION pg_temp.mask_segment(segment text, index bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN segment = '' THEN ''
    WHEN index = 2 AND length(segment) <= 20 AND segment ~ '^[a-z]+([-_][a-z]+)*[0-9]{0,2}$' THEN segment
    ELSE '••••'
  END
$$;

-- Scheme, user name and password, host, path, query, fragment; null when it is no URL.
CREATE FUNCTION pg_temp.url_parts(url text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN url !~ '[\u0001-\u0020\\]' THEN
    regexp_match(url, '^([Hh][Tt][Tt][Pp][Ss]?://)([^/?#]*@)?([^/?#@]+)([^?#]*)(\?[^#]*)?(#.*)?$')
  END
$$;

CREATE FUNCTION pg_temp.mask_url(url text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  parts CONSTANT text[] := pg_temp.url_parts(url);
BEGIN
  IF parts IS NULL THEN
    RETURN '••••';
  END IF;
  RETURN parts[1] || CASE WHEN parts[2] IS NULL THEN '' ELSE '••••@' END || parts[3]
    || coalesce((
      SELECT string_agg(pg_temp.mask_segment(segment, index), '/' ORDER BY index)
      FROM string_to_table(parts[4], '/') WITH ORDINALITY AS segments(segment, index)
    ), '')
    || CASE WHEN parts[5] IS NULL THEN '' ELSE '?' || coalesce((
      SELECT string_agg(pg_temp.mask_parameter(parameter), '&' ORDER BY index)
      FROM string_to_table(substr(parts[5], 2), '&') WITH ORDINALITY AS parameters(parameter, index)
    ), '') END
    || CASE WHEN parts[6] IS NULL THEN '' ELSE '#••••' END;
END
$$;

-- Percent-encoded octets as the characters that they stand for; as it is where they stand for none.
CREATE FUNCTION pg_temp.decode_url(encoded text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  bytes bytea := '';
  piece text;
BEGIN
  FOR piece IN SELECT octets[1] FROM regexp_matches(encoded, '%[0-9A-Fa-f]{2}|[^%]+|%', 'g') AS t(octets) LOOP
    bytes := bytes || CASE WHEN piece ~ '^%..$' THEN decode(substr(piece, 2), 'hex') ELSE convert_to(piece, 'UTF8') END;
  END LOOP;
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN encoded;
END
$$;

-- What is hidden of a URL, longest first: as it is, decoded, and with the slashes of PHP's JSON.
CREATE FUNCTION pg_temp.hidden_parts(url text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  parts CONSTANT text[] := pg_temp.url_parts(url);
  path CONSTANT text := coalesce(parts[4], '');
  query CONSTANT text := coalesce(parts[5], '');
  user_info CONSTANT text := coalesce(rtrim(parts[2], '@'), '');
BEGIN
  RETURN ARRAY(
    WITH segments AS (
      SELECT segment FROM string_to_table(path, '/') WITH ORDINALITY AS t(segment, index)
      WHERE pg_temp.mask_segment(segment, index) <> segment
    ),
    pieces AS (
      SELECT url AS piece
      UNION SELECT path WHERE EXISTS (SELECT FROM segments)
      UNION SELECT path || query WHERE query <> '' OR EXISTS (SELECT FROM segments)
      UNION SELECT unnest(ARRAY[query, substr(query, 2), user_info])
      UNION SELECT string_to_table(user_info, ':')
      UNION SELECT string_to_table(substr(query, 2), '&')
      UNION SELECT regexp_replace(parameter, '^[^=]{1,24}=(?=[^=])', '')
        FROM string_to_table(substr(query, 2), '&') AS parameter
      UNION SELECT segment FROM segments WHERE length(segment) >= 16 OR segment !~ '^[A-Za-z]+([-_][A-Za-z]+)*$'
    ),
    spelled AS (
      SELECT piece FROM pieces
      UNION SELECT pg_temp.decode_url(piece) FROM pieces
      UNION SELECT pg_temp.decode_url(replace(piece, '+', ' ')) FROM pieces
      UNION SELECT replace(piece, '/', '\/') FROM pieces
    )
    SELECT piece FROM spelled WHERE length(piece) >= 6 AND piece NOT LIKE '%••••%' ORDER BY length(piece) DESC
  );
END
$$;

CREATE FUNCTION pg_temp.scrub(content text, hidden text[]) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  piece text;
BEGIN
  FOREACH piece IN ARRAY hidden LOOP
    content := replace(content, piece, '••••');
  END LOOP;
  RETURN content;
END
$$;

-- Within a text of JSON, where a quotation mark or a backslash is escaped.
CREATE FUNCTION pg_temp.scrub_json(content json, hidden text[]) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT pg_temp.scrub(content::text, ARRAY(
    SELECT substr(escaped, 2, length(escaped) - 2) FROM unnest(hidden) AS piece, CAST(to_json(piece) AS text) AS escaped
  ))::json
$$;

-- Answers to attempts may repeat the URL that they went to, and the upstream URL of the event that they carried.
CREATE TEMP TABLE hidden_url ON COMMIT DROP AS
  SELECT url, pg_temp.mask_url(url) AS masked, pg_temp.hidden_parts(url) AS hidden
  FROM (
    SELECT "url" FROM "Webhook"
    UNION SELECT a."requestUrl" FROM "Attempt" a JOIN "Delivery" d ON d."id" = a."deliveryId"
      WHERE d."webhookId" IS NOT NULL AND a."requestUrl" IS NOT NULL
    UNION SELECT "data" ->> 'upstreamUrl' FROM "Event" WHERE "type" = 'endpoint.created'
  ) AS urls(url)
  WHERE url IS NOT NULL AND pg_temp.mask_url(url) <> url;
CREATE UNIQUE INDEX ON hidden_url (url);
ANALYZE hidden_url;

UPDATE "Attempt" a SET
  "responseBody" = pg_temp.scrub(a."responseBody", h.hidden),
  "responseHeaders" = pg_temp.scrub_json(a."responseHeaders", h.hidden),
  "errorMessage" = pg_temp.scrub(a."errorMessage", h.hidden)
FROM "Delivery" d, "Event" e, hidden_url h
WHERE d."id" = a."deliveryId" AND d."eventType" = 'endpoint.created' AND e."id" = d."eventId"
  AND h.url = e."data" ->> 'upstreamUrl';

UPDATE "Attempt" a SET
  "requestUrl" = CASE WHEN a."requestUrl" IS NOT NULL THEN h.masked END,
  "responseBody" = pg_temp.scrub(a."responseBody", h.hidden),
  "responseHeaders" = pg_temp.scrub_json(a."responseHeaders", h.hidden)
FROM "Delivery" d, "Webhook" w, hidden_url h
WHERE d."id" = a."deliveryId" AND w."id" = d."webhookId" AND h.url = coalesce(a."requestUrl", w."url");

-- A connector says why it was refused in the words of its vendor.
UPDATE "Delivery" d SET "reason" = pg_temp.scrub(d."reason", h.hidden)
FROM "Event" e, hidden_url h
WHERE d."eventType" = 'endpoint.created' AND d."reason" IS NOT NULL AND e."id" = d."eventId"
  AND h.url = e."data" ->> 'upstreamUrl';

-- Put together member by member: the others keep their bytes and their order.
UPDATE "Event" e SET "data" = (
  SELECT '{' || string_agg(
    to_json(key)::text || ':' || CASE key WHEN 'upstreamUrl' THEN to_json(h.masked)::text ELSE value::text END, ',' ORDER BY index
  ) || '}' FROM json_each(e."data") WITH ORDINALITY AS members(key, value, index)
)::json
FROM hidden_url h
WHERE e."type" = 'endpoint.created' AND h.url = e."data" ->> 'upstreamUrl';

UPDATE "AuditEntry" SET "changes" = "changes" || jsonb_build_object('upstreamUrl', pg_temp.mask_url("changes" ->> 'upstreamUrl'))
WHERE "action" LIKE 'endpoint.%' AND jsonb_typeof("changes" -> 'upstreamUrl') = 'string'
  AND pg_temp.mask_url("changes" ->> 'upstreamUrl') <> "changes" ->> 'upstreamUrl';

UPDATE "AuditEntry" SET "changes" = "changes" || jsonb_build_object('url', pg_temp.mask_url("changes" ->> 'url'))
WHERE "action" LIKE 'webhook.%' AND jsonb_typeof("changes" -> 'url') = 'string'
  AND pg_temp.mask_url("changes" ->> 'url') <> "changes" ->> 'url';

DROP FUNCTION pg_temp.scrub_json, pg_temp.scrub, pg_temp.hidden_parts, pg_temp.decode_url, pg_temp.mask_url,
  pg_temp.url_parts, pg_temp.mask_segment, pg_temp.mask_parameter;

-- What the same fields were before a change. At the end, since it keeps others from the table until the commit.
ALTER TABLE "AuditEntry" ADD COLUMN "previous" JSONB;
