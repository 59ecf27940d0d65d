/** The details of an endpoint that buyers can see in addition to its terms, except its schemas and example. */
export type RouteOffer = {
  mimeType: string | null;
  tags: readonly string[];
  /** The project's name. */
  serviceName: string;
  iconUrl: string | null;
  /** Changes whenever the endpoint does. Null if the endpoint has neither schemas nor an example. */
  detailsVersion: string | null;
};

/** The column `offer` for a query on an endpoint `e` and its project `p`. */
export const OFFER_COLUMN = `json_build_object(
  'mimeType', e."mimeType", 'tags', e.tags, 'serviceName', p.name, 'iconUrl', p."iconUrl",
  'detailsVersion', CASE WHEN e."inputSchema" IS NOT NULL OR e."exampleResponse" IS NOT NULL THEN e.xmin::text END
) AS offer`;
