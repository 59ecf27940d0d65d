import type { Project } from '../../generated/prisma/client.ts';

/** The settings that endpoint addresses are built from. */
export type GatewayAddresses = {
  /** This service's public URL, if known. */
  publicUrl: string | undefined;
  /** The domain under which each project has a name, if the operator has set one. */
  gatewayDomain: string | undefined;
};

/** The name that every project has under the operator's domain. Null if the operator hasn't set one. */
export function defaultHostOf({ slug }: Pick<Project, 'slug'>, { gatewayDomain }: GatewayAddresses): string | null {
  return gatewayDomain === undefined || slug === null ? null : `${slug}.${gatewayDomain}`;
}

/**
 * The base URL for a project's endpoint paths: on its custom host, on its default host, or under this
 * service's own URL. Null if that URL isn't known.
 */
export function gatewayUrlOf(
  project: Pick<Project, 'id' | 'slug' | 'gatewayHost'>,
  addresses: GatewayAddresses,
): string | null {
  const { publicUrl } = addresses;
  const host = project.gatewayHost ?? defaultHostOf(project, addresses);
  if (host === null) return publicUrl === undefined ? null : `${publicUrl}/gateway/${project.id}`;
  const url = new URL(publicUrl ?? 'https://localhost');
  url.hostname = host;
  return url.origin;
}
