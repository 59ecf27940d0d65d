/** The address of a documentation page, which this server serves under `/docs`: `docsUrl('webhooks', 'retries')`. */
export function docsUrl(page: string, section?: string): string {
  return `/docs/${page}${section ? `#${section}` : ''}`;
}
