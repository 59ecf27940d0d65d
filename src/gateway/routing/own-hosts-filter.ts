import type { Logger } from 'pino';
import type { OwnHosts } from '../../config/own-hosts.ts';

/** `isCustom`: it isn't a name under the operator's domain. */
type ProjectHost = { host: string; projectId: string; isCustom: boolean };

/**
 * Leaves out projects' host names that belong to the service. A project can have such a name if it claimed the name
 * before `PUBLIC_URL` was set or changed. The project would then receive every request sent to the service. Logs each
 * such name once.
 *
 * @param ownHosts undefined if the service's names are unknown.
 */
export function createOwnHostsFilter(ownHosts: OwnHosts | undefined, log: Logger) {
  const reported = new Set<string>();

  function isIgnored({ host, projectId, isCustom }: ProjectHost): boolean {
    if (!isCustom || !ownHosts?.includes(host)) return false;
    if (reported.has(host)) return true;
    reported.add(host);
    log.warn(
      { host, projectId },
      "a project's domain is ignored because it belongs to the service; ask the owner for a different `gatewayHost`, or correct PUBLIC_URL",
    );
    return true;
  }

  return <Host extends ProjectHost>(hosts: readonly Host[]): Host[] => hosts.filter((host) => !isIgnored(host));
}
