import type { CurrentProject } from './current-project.tsx';

/** The URL that buyers call for an endpoint, with sample values for the placeholders in its path. */
export function gatewayAddress({ id, gatewayUrl }: CurrentProject, path: string): string {
  return gatewayUrl === null ? window.location.origin + gatewayPath(id, path) : gatewayUrl + sample(path);
}

/** The endpoint's path on this server, with the same sample values. */
export function gatewayPath(projectId: string, path: string): string {
  return `/gateway/${projectId}${sample(path)}`;
}

const sample = (path: string) => path.replace(/:[^/]+/g, '1').replace(/\*$/, 'x');
