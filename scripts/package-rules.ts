/** A package in package-lock.json. Only links, and packages from elsewhere than the registry, have `resolved`. */
type LockedPackage = {
  name?: string;
  version?: string;
  integrity?: string;
  resolved?: string;
  hasInstallScript?: true;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};

export type PackageFiles = {
  /** package-lock.json: the packages by folder. */
  lock: { lockfileVersion: number; packages: Record<string, LockedPackage> };
  manifest: { allowScripts?: Record<string, boolean> };
  /** The text of .npmrc. */
  settings: string;
};

const IN_MODULES = 'node_modules/';
/** A base64-encoded hash of 64 bytes. */
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
const EXACT_VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** What is wrong with one package, and how to recognize it. */
const RULES: readonly { fault: string; isBroken(item: LockedPackage, folder: string, files: PackageFiles): boolean }[] =
  [
    // A hash for each version makes npm reject a package that a registry has replaced. Of several hashes, one is enough.
    {
      fault: 'has no SHA-512 hash',
      isBroken: ({ integrity }) => !(integrity ?? '').split(' ').every((hash) => SHA512.test(hash)),
    },
    { fault: 'has no exact version', isBroken: ({ version }) => !EXACT_VERSION.test(version ?? '') },
    // Without an address, npm uses the registry of the person or machine that installs the package.
    { fault: 'comes from an address of its own', isBroken: ({ resolved }) => resolved !== undefined },
    {
      fault: 'is a different package than its folder says',
      isBroken: ({ name }, folder, { lock }) =>
        name !== undefined && name !== nameOf(folder) && !isAlias(lock, folder, name),
    },
    {
      fault: 'has an install script; list it in allowScripts in package.json, with true or false',
      isBroken: ({ hasInstallScript }, folder, { manifest }) =>
        hasInstallScript === true && manifest.allowScripts?.[nameOf(folder)] === undefined,
    },
  ];

/** Lists everything that could make npm install anything but what was reviewed, as "package fault". */
export function faultsIn(files: PackageFiles): string[] {
  const { lock, manifest, settings } = files;
  const installed = Object.entries(lock.packages).filter(([folder]) => folder !== '');
  const withScripts = new Set(
    installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([folder]) => nameOf(folder)),
  );
  return [
    ...(lock.lockfileVersion === 3 ? [] : ['package-lock.json must have version 3']),
    ...installed.flatMap(([folder, item]) =>
      RULES.filter(({ isBroken }) => isBroken(item, folder, files)).map(({ fault }) => `${folder} ${fault}`),
    ),
    ...Object.keys(manifest.allowScripts ?? {})
      .filter((name) => !withScripts.has(name))
      .map((name) => `${name} has no install script, so remove it from allowScripts in package.json`),
    ...settings
      .split('\n')
      .filter((line) => /^\s*(?:@[^=]*:)?(?:registry|_?auth\w*|\/\/.*)\s*=/i.test(line))
      .map((line) => `.npmrc sets ${line.split('=')[0]!.trim()}, which belongs in the settings of each machine`),
  ];
}

function nameOf(folder: string): string {
  return folder.slice(folder.lastIndexOf(IN_MODULES) + IN_MODULES.length);
}

/** Whether a package asks for this folder's package under another name, as in `"old": "npm:new@1.0.0"`. */
function isAlias({ packages }: PackageFiles['lock'], folder: string, name: string): boolean {
  return Object.values(packages).some((item) =>
    [item.dependencies, item.devDependencies, item.optionalDependencies, item.peerDependencies].some((wanted) =>
      wanted?.[nameOf(folder)]?.startsWith(`npm:${name}@`),
    ),
  );
}
