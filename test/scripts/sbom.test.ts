import { expect, test } from 'vitest';
import { packageFolder } from '../../scripts/bundled-packages.ts';
import { type Bom, type Lock, sbomOf } from '../../scripts/sbom-of.ts';

const component = (name: string, version: string, properties: string[] = []) => ({
  'bom-ref': `${name}@${version}`,
  name,
  version,
  scope: 'optional',
  properties: properties.map((property) => ({ name: property, value: 'true' })),
});

const DEVELOPMENT = 'cdx:npm:package:development';
const lock: Lock = {
  packages: {
    '': { name: 'tollgate', version: '1.0.0' },
    'packages/sdk': { version: '1.0.0' },
    'node_modules/@tollgate/sdk': { link: true },
    'node_modules/postgres': { version: '18.0.0' },
    'node_modules/bundled': { version: '2.0.0', dev: true },
    'node_modules/bundled/node_modules/@scope/inner': { version: '3.0.0', dev: true },
    'node_modules/@scope/inner': { version: '4.0.0', dev: true },
    'node_modules/vitest': { version: '5.0.0', dev: true },
  },
};
const bom: Bom = {
  metadata: { component: component('folder', '1.0.0') },
  components: [
    component('postgres', '18.0.0'),
    component('bundled', '2.0.0', [DEVELOPMENT]),
    component('@scope/inner', '3.0.0', [DEVELOPMENT, 'other']),
    component('@scope/inner', '4.0.0', [DEVELOPMENT]),
    component('vitest', '5.0.0', [DEVELOPMENT]),
  ],
  dependencies: [
    { ref: 'folder@1.0.0', dependsOn: ['postgres@18.0.0', 'vitest@5.0.0', 'bundled@2.0.0'] },
    { ref: 'bundled@2.0.0', dependsOn: ['@scope/inner@3.0.0', '@scope/inner@4.0.0'] },
    { ref: '@scope/inner@3.0.0' },
    { ref: 'vitest@5.0.0' },
  ],
};

test('the SBOM has the installed and the bundled packages, and leaves out development packages', () => {
  const result = sbomOf(bom, lock, ['node_modules/bundled', 'node_modules/bundled/node_modules/@scope/inner']);
  expect(result.metadata.component.name).toBe('tollgate');
  expect(result.components).toEqual([
    component('postgres', '18.0.0'),
    { ...component('bundled', '2.0.0'), scope: 'required' },
    { ...component('@scope/inner', '3.0.0', ['other']), scope: 'required' },
  ]);
  expect(result.dependencies).toEqual([
    { ref: 'folder@1.0.0', dependsOn: ['postgres@18.0.0', 'bundled@2.0.0'] },
    { ref: 'bundled@2.0.0', dependsOn: ['@scope/inner@3.0.0'] },
    { ref: '@scope/inner@3.0.0', dependsOn: [] },
  ]);
});

test('an outdated build is detected', () => {
  expect(() => sbomOf(bom, lock, ['node_modules/gone'])).toThrow('package-lock.json has no node_modules/gone');
});

test.each([
  ['/app/node_modules/fastify/lib/server.js', 'node_modules/fastify'],
  ['/app/node_modules/@pothos/core/esm/index.js?v=1', 'node_modules/@pothos/core'],
  ['/app/node_modules/a/node_modules/@b/c/d.js', 'node_modules/a/node_modules/@b/c'],
  ['C:\\app\\node_modules\\fastify\\lib\\server.js', 'node_modules/fastify'],
  ['\0/app/node_modules/react/index.js?commonjs-module', 'node_modules/react'],
  ['/app/src/main.ts', undefined],
  ['\0rolldown/runtime.js', undefined],
])('the module %j belongs to the package %s', (module, folder) => {
  expect(packageFolder(module)).toBe(folder);
});
