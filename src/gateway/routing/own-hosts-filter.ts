import type { Logger } from 'pino';
import type { OwnHosts } from '../../config/own-hosts.ts';

/**
 * Leaves out projects' host names that belong to the service. A project can have such a name if it claimed the name
 * before `PUBLIC_URL` was set or changed. The project would then receive every request sent to the service. Logs each
 * such name once.
 *
 * @param ownHosts undefined if the service's names are unknown.
 */
export function createOwnHostsFilter(ownHosts: OwnHosts | undefined, log: Logger) {
  const reported = new Set<string>();

  return (projectsByHost: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
    const isOwn = ([host]: [string, string]) => ownHosts?.includes(host) ?? false;
    for (const [host, projectId] of [...projectsByHost].filter(isOwn)) {
      if (reported.has(host)) continue;
      reported.add(host);
      log.warn(
        { host, projectId },
        "a project's host name is ignored because it belongs to the service; ask the owner for a different `gatewayHost`, or correct PUBLIC_URL",
      );
    }
    return new Map([...projectsByHost].filter((entry) => !isOwn(entry)));
  };
}
