type Property = { name: string; value: string };
type Component = {
  'bom-ref': string;
  name: string;
  version: string;
  scope?: string;
  properties?: Property[];
  [field: string]: unknown;
};
type Dependency = { ref: string; dependsOn?: string[] };

/** The parts of a CycloneDX document that this script changes. */
export type Bom = {
  metadata: { component: Component };
  components: Component[];
  dependencies: Dependency[];
  [field: string]: unknown;
};
/** package-lock.json: the packages by folder. The folder of the root package is the empty string. */
export type Lock = {
  packages: Record<string, { name?: string; version?: string; dev?: true; devOptional?: true; link?: true }>;
};

/** npm sets this for packages in `devDependencies`, which includes most bundled packages. */
const DEVELOPMENT = 'cdx:npm:package:development';

/**
 * Turns npm's SBOM of everything installed in a clone into a release's SBOM, without packages needed only for
 * development. Bundled packages count as required, even if npm installs them only for development.
 *
 * @param bundled the folders of the packages whose code is in the build
 * @throws Error if any of them is missing from package-lock.json.
 */
export function sbomOf(bom: Bom, lock: Lock, bundled: readonly string[]): Bom {
  const isBundled = new Set(bundled.map((folder) => refOf(lock, folder)));
  const installed = Object.entries(lock.packages)
    .filter(([folder, { dev, devOptional, link }]) => folder.includes('node_modules/') && !dev && !devOptional && !link)
    .map(([folder]) => refOf(lock, folder));
  const kept = new Set([...isBundled, ...installed]);
  const root = bom.metadata.component;
  const isKept = (ref: string) => kept.has(ref) || ref === root['bom-ref'];
  return {
    ...bom,
    // npm names the root component after the clone's folder.
    metadata: { ...bom.metadata, component: { ...root, name: lock.packages['']!.name! } },
    components: bom.components
      .filter((component) => isKept(component['bom-ref']))
      .map((component) => (isBundled.has(component['bom-ref']) ? required(component) : component)),
    dependencies: bom.dependencies
      .filter(({ ref }) => isKept(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isKept) })),
  };
}

function refOf({ packages }: Lock, folder: string): string {
  const entry = packages[folder];
  if (!entry?.version) throw new Error(`package-lock.json has no ${folder}. Run npm install, and build again.`);
  const name = entry.name ?? folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  return `${name}@${entry.version}`;
}

function required(component: Component): Component {
  const properties = component.properties?.filter(({ name }) => name !== DEVELOPMENT) ?? [];
  return { ...component, scope: 'required', properties };
}
