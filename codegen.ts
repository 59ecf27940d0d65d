import { globSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import type { CodegenConfig } from '@graphql-codegen/cli';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from './src/graphql/schema.ts';

type Output = CodegenConfig['generates'][string];

/** Documents that are parsed at build time, with the types of their variables and results. */
const typedDocuments = (documents: string): Output => ({
  documents,
  plugins: ['typescript-operations', 'typed-document-node'],
  config: {
    useTypeImports: true,
    enumsAsTypes: true,
    scalars: { ID: 'string', DateTime: 'string', JSON: 'unknown' },
    documentMode: 'documentNode',
    optimizeDocumentNode: true,
  },
});

/** A module for each of the console's files, so that a page loads only its own documents. */
const consoleDocuments = globSync('src/console/operations/*.graphql')
  .sort()
  .map((path) => [`src/generated/console/${basename(path, '.graphql')}.ts`, typedDocuments(path)]);

// The generator doesn't delete modules whose operations are gone. Tests that read all modules would still find them.
const written = new Set(consoleDocuments.map(([path]) => path));
for (const path of globSync('src/generated/console/*.ts')) if (!written.has(path)) rmSync(path);

const config: CodegenConfig = {
  schema: printSchema(lexicographicSortSchema(schema)),
  generates: {
    'src/generated/rest-documents.ts': typedDocuments('src/rest/operations/*.graphql'),
    'src/generated/cli-documents.ts': typedDocuments('src/cli/operations/*.graphql'),
    ...Object.fromEntries(consoleDocuments),
  },
};

export default config;
