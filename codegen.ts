import type { CodegenConfig } from '@graphql-codegen/cli';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from './src/graphql/schema.ts';

const config: CodegenConfig = {
  schema: printSchema(lexicographicSortSchema(schema)),
  generates: {
    'src/generated/rest-documents.ts': {
      documents: 'src/rest/operations/*.graphql',
      plugins: ['typescript-operations', 'typed-document-node'],
      config: {
        useTypeImports: true,
        enumsAsTypes: true,
        scalars: { ID: 'string', DateTime: 'string', JSON: 'unknown' },
        documentMode: 'documentNode',
        optimizeDocumentNode: true,
      },
    },
  },
};

export default config;
