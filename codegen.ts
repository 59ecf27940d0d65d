import type { CodegenConfig } from '@graphql-codegen/cli';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from './src/graphql/schema.ts';

/** The operations of a folder, with their types. */
const typedDocuments = (documents: string) => ({
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

const config: CodegenConfig = {
  schema: printSchema(lexicographicSortSchema(schema)),
  generates: {
    'src/generated/rest-documents.ts': typedDocuments('src/rest/operations/*.graphql'),
    'src/generated/cli-documents.ts': typedDocuments('src/cli/operations/*.graphql'),
  },
};

export default config;
