import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { Deployment } from 'kubernetes-models/apps/v1';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Secret, Service } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../../src/config/variables.ts';
import { MAX_HEAP_MEGABYTES } from '../../src/features/imports/openapi/read-document.ts';
import { MAX_AT_ONCE } from '../../src/features/imports/openapi/reading-slots.ts';
import { environmentOf, FOLDER, MANIFESTS, type Manifest, ROOT, WORKLOADS, type Workload } from './manifests.ts';

/** Kubernetes's own JSON schemas. */
const MODELS: Record<string, new (object: never) => { validate(): void }> = {
  Deployment,
  Ingress,
  PodDisruptionBudget,
  ConfigMap,
  Secret,
  Service,
};

const rolesOf = (kind: string) =>
  MANIFESTS.filter((manifest) => manifest.kind === kind).map(({ metadata }) => metadata.name.replace('tollgate-', ''));

const workloadOf = (role: string) => WORKLOADS.find((workload) => environmentOf(workload).ROLES === role)!;

function megabytesOf({ spec }: Workload): number {
  const [, amount, unit] = /^(\d+)(Mi|Gi)$/.exec(spec.template.spec.containers[0].resources.limits.memory!)!;
  return Number(amount) * (unit === 'Gi' ? 1_024 : 1);
}

/** The largest buffers that the system can have for a connection. */
function bufferMegabytesOf({ spec }: Workload) {
  const { sysctls } = spec.template.spec.securityContext;
  const largestOf = (name: string, unlimitedBytes: number) =>
    Number(sysctls?.find((one) => one.name === name)?.value.split(' ')[2] ?? unlimitedBytes) / 1_048_576;
  // Without these settings, Linux's defaults apply.
  return { receiving: largestOf('net.ipv4.tcp_rmem', 6_291_456), sending: largestOf('net.ipv4.tcp_wmem', 4_194_304) };
}

test.each(MANIFESTS)('$file: $kind $metadata.name matches the Kubernetes schema', ({ file: _, ...object }) => {
  new MODELS[object.kind]!(object as never).validate();
});

test('kustomize gets all manifests except the example Secret', () => {
  const { resources } = load(readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8')) as { resources: string[] };
  const others = ['kustomization.yaml', 'secret.example.yaml'];
  expect(resources.toSorted()).toEqual(
    readdirSync(FOLDER)
      .filter((file) => !others.includes(file))
      .toSorted(),
  );
});

test('there is a deployment with a disruption budget for each role, and a service for the roles that get requests', () => {
  const roles = WORKLOADS.map((workload) => environmentOf(workload).ROLES);
  expect(roles).toEqual(['api', 'gateway', 'worker']);
  expect(rolesOf('Deployment')).toEqual(roles);
  expect(rolesOf('PodDisruptionBudget')).toEqual(roles);
  expect(rolesOf('Service')).toEqual(['api', 'gateway']);
});

test('the memory of an API pod is enough for V8’s heap and the OpenAPI documents that are read at the same time', () => {
  const megabytes = megabytesOf(workloadOf('api'));
  // V8 uses up to half of the memory for objects. A process needs about 60 MB in addition to its heap.
  const heaps = [megabytes / 2, ...Array.from({ length: MAX_AT_ONCE }, () => MAX_HEAP_MEGABYTES)];
  const needed = heaps.reduce((sum, heap) => sum + heap + 60, 0);
  // The system's buffers of 1,000 responses that nobody reads.
  expect(needed + 1_000 * bufferMegabytesOf(workloadOf('api')).sending).toBeLessThanOrEqual(megabytes);
});

test('the memory of a gateway pod is enough for a full process and the system’s buffers of 1,000 requests', () => {
  const gateway = workloadOf('gateway');
  // The measured memory of a process that holds as much as it may, with this heap.
  expect(environmentOf(gateway).NODE_OPTIONS).toBe('--max-old-space-size=512');
  const fullMegabytes = 970;
  // A request has a connection to the client and one to the upstream, and data is passed on in one direction.
  const { receiving, sending } = bufferMegabytesOf(gateway);
  expect(fullMegabytes + 1_000 * (receiving + sending)).toBeLessThanOrEqual(megabytesOf(gateway));
});

test('selectors match the labels of the pods', () => {
  for (const manifest of MANIFESTS.filter(({ kind }) => ['Service', 'PodDisruptionBudget'].includes(kind))) {
    const { spec, metadata } = manifest as Manifest & { spec: { selector: Record<string, unknown> } };
    const { template, selector } = WORKLOADS.find((workload) => workload.metadata.name === metadata.name)!.spec;
    expect(spec.selector.matchLabels ?? spec.selector).toEqual(template.metadata.labels);
    expect(selector.matchLabels).toEqual(template.metadata.labels);
  }
});

describe.each(WORKLOADS)('the deployment $metadata.name', (workload) => {
  const { terminationGracePeriodSeconds, securityContext, containers } = workload.spec.template.spec;
  const [container] = containers;

  test('sets only variables that exist, and listens on its port', () => {
    const environment = environmentOf(workload);
    expect(Object.keys(environment).filter((name) => !(name in VARIABLES) && name !== 'NODE_OPTIONS')).toEqual([]);
    expect(container.ports).toEqual([{ name: 'http', containerPort: Number(environment.PORT) }]);
  });

  test('is probed at paths that every process serves', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    const probes = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
    expect(probes).toEqual([
      { path: '/healthz', port: 'http' },
      { path: '/healthz', port: 'http' },
      { path: '/readyz', port: 'http' },
    ]);
  });

  test('has no privileges and a read-only file system', () => {
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const user = /^USER (\d+):(\d+)$/m
      .exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))!
      .slice(1)
      .map(Number);
    expect([securityContext.runAsUser, securityContext.runAsGroup]).toEqual(user);
  });

  test('requests memory, has limits, and gets time to finish its work', () => {
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.stringMatching(/Mi$/) },
      limits: { memory: expect.stringMatching(/[MG]i$/) },
    });
    expect(terminationGracePeriodSeconds).toBeGreaterThan(28 + 5);
  });

  test('runs the image of this version', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(container.image).toBe(`tollgate:${version}`);
  });
});
