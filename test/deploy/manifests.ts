import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadAll } from 'js-yaml';

export const ROOT = resolve(import.meta.dirname, '../..');
export const FOLDER = join(ROOT, 'deploy/kubernetes');

type Probe = { httpGet: { path: string; port: string } };
type Container = {
  image: string;
  env: { name: string; value: string }[];
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  ports: { name: string; containerPort: number }[];
  resources: { requests: Record<string, string>; limits: Record<string, string> };
  securityContext: Record<string, unknown>;
} & Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', Probe>;

export type Manifest = {
  file: string;
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
};

export type Workload = Manifest & {
  spec: {
    replicas: number;
    selector: { matchLabels: Record<string, string> };
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds: number;
        securityContext: Record<string, unknown> & { sysctls?: { name: string; value: string }[] };
        containers: [Container];
      };
    };
  };
};

/** The objects in `deploy/kubernetes`, except the list of files for kustomize. */
export const MANIFESTS: readonly Manifest[] = readdirSync(FOLDER)
  .filter((file) => file !== 'kustomization.yaml')
  .flatMap((file) =>
    loadAll(readFileSync(join(FOLDER, file), 'utf8')).map((object) => ({ ...(object as Manifest), file })),
  );

export const WORKLOADS = MANIFESTS.filter((manifest): manifest is Workload => manifest.kind === 'Deployment');

/** The environment of a workload's container, from its own variables, the ConfigMap, and the example Secret. */
export function environmentOf({ spec }: Workload): Record<string, string> {
  const [{ env, envFrom }] = spec.template.spec.containers;
  const shared = envFrom.map(({ configMapRef, secretRef }) => {
    const wanted = configMapRef ? ['ConfigMap', configMapRef.name] : ['Secret', secretRef?.name];
    const found = MANIFESTS.find(({ kind, metadata }) => kind === wanted[0] && metadata.name === wanted[1]);
    if (!found) throw new Error(`There is no ${wanted.join(' ')}.`);
    return found.data ?? found.stringData;
  });
  return Object.assign({}, ...shared, Object.fromEntries(env.map(({ name, value }) => [name, value])));
}
