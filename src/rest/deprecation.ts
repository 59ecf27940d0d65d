/** The details of an operation that will be removed. */
export type Deprecation = {
  /** The day when it was deprecated, and the first day when it may be removed (`YYYY-MM-DD`). */
  since: string;
  sunset: string;
  /** What to use instead, as a sentence. */
  advice: string;
};

/** The headers of responses from a deprecated operation: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
export function deprecationHeaders({ since, sunset }: Deprecation): Record<string, string> {
  return { deprecation: `@${Date.parse(since) / 1000}`, sunset: new Date(sunset).toUTCString() };
}

/** The keywords of a deprecated operation in the OpenAPI document. */
export function deprecatedOperation({ sunset, advice }: Deprecation) {
  return { deprecated: true, 'x-sunset': sunset, description: advice };
}

const SUNSET = /It will be removed after (\d{4}-\d{2}-\d{2})\.$/;

/** The keywords of a parameter or field in the OpenAPI document that is deprecated in the GraphQL schema. */
export function deprecatedField(reason: string | null | undefined) {
  if (reason == null) return {};
  const sunset = SUNSET.exec(reason)?.[1];
  return { deprecated: true, ...(sunset && { 'x-sunset': sunset }) };
}
