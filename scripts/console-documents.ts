import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DocumentNode } from 'graphql';
import type { Plugin } from 'rolldown';
import { formatDocument, stringifyDocument } from 'urql';
import { SCHEMA_QUERY } from '../src/console/api/schema-query.ts';

const ROOT = resolve(import.meta.dirname, '..');

/**
 * Writes a JSON list with the SHA-256 of each query and subscription that the console sends. The server counts these
 * requests separately from all others.
 *
 * @param fileName the path to write it to, relative to the bundle's folder
 */
export function listConsoleReads(fileName: string): Plugin {
  return {
    name: 'list-console-reads',
    async generateBundle() {
      this.emitFile({ type: 'asset', fileName, source: `${JSON.stringify(await consoleReads(), null, 2)}\n` });
    },
  };
}

async function consoleReads(): Promise<string[]> {
  const files = globSync('src/generated/console/*.ts', { cwd: ROOT });
  const modules: Record<string, DocumentNode>[] = await Promise.all(files.map((file) => import(resolve(ROOT, file))));
  const documents = modules.flatMap((module) => Object.values(module));
  return [...documents.flatMap(readOf), hashOf(SCHEMA_QUERY)].sort();
}

function readOf(document: DocumentNode): string[] {
  const operation = document.definitions.find(({ kind }) => kind === 'OperationDefinition');
  if (operation?.kind !== 'OperationDefinition' || operation.operation === 'mutation') return [];
  // Only queries go through urql, which adds `__typename` for its cache.
  const sent = operation.operation === 'query' ? formatDocument(document) : document;
  return [hashOf(stringifyDocument(sent))];
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
