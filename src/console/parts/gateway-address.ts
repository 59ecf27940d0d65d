import type { CurrentProject } from './current-project.tsx';

/** Where buyers call an endpoint, with something in place of the placeholders of its path. */
export function gatewayAddress({ id, gatewayHost }: CurrentProject, path: string): string {
  const called = path.replace(/:[^/]+/g, '1').replace(/\*$/, 'x');
  return gatewayHost ? `https://${gatewayHost}${called}` : `${window.location.origin}/gateway/${id}${called}`;
}
