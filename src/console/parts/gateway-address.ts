import type { CurrentProject } from './current-project.tsx';

/** The URL that buyers call for an endpoint, with sample values for the placeholders in its path. */
export function gatewayAddress({ id, gatewayHost }: CurrentProject, path: string): string {
  const called = path.replace(/:[^/]+/g, '1').replace(/\*$/, 'x');
  return gatewayHost ? `https://${gatewayHost}${called}` : `${window.location.origin}/gateway/${id}${called}`;
}
