import type { Plugin } from 'rolldown';

const FOLDER = '/node_modules/';

/**
 * Writes a JSON list of the bundled packages, for the SBOM. Each is identified by its folder, as in package-lock.json:
 * `node_modules/fastify`.
 *
 * @param fileName the path to write it to, relative to the bundle's folder
 */
export function listPackages(fileName: string): Plugin {
  return {
    name: 'list-packages',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const folders = new Set(modules.flatMap((id) => packageFolder(id) ?? []));
      this.emitFile({ type: 'asset', fileName, source: `${JSON.stringify([...folders].sort(), null, 2)}\n` });
    },
  };
}

/**
 * The folder of the package that a module belongs to, starting at the first `node_modules`. Undefined for our own
 * modules.
 */
export function packageFolder(moduleId: string): string | undefined {
  const path = moduleId.replaceAll('\\', '/');
  const start = path.indexOf(FOLDER);
  if (start < 0) return undefined;
  const nameStart = path.lastIndexOf(FOLDER) + FOLDER.length;
  const [first = '', second = ''] = path.slice(nameStart).split('/');
  const name = first.startsWith('@') ? `${first}/${second}` : first;
  return path.slice(start + 1, nameStart) + name;
}
