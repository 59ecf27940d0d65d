import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { type DocumentNode, type OperationDefinitionNode, print } from 'graphql';

export type ConsoleDocument = {
  name: string;
  type: 'query' | 'mutation' | 'subscription';
  query: string;
  field: string;
};

/** The documents that the console sends, in alphabetical order. `field` is the first field of each. */
export async function consoleDocuments(): Promise<ConsoleDocument[]> {
  const files = globSync('src/generated/console/*.ts').map((file) => resolve(file));
  const modules: Record<string, DocumentNode>[] = await Promise.all(files.map((file) => import(file)));
  const documents = modules.flatMap((module) =>
    Object.entries(module).flatMap(([name, document]) => (name.endsWith('FragmentDoc') ? [] : [document])),
  );
  return documents.map(describeDocument).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function describeDocument(document: DocumentNode): ConsoleDocument {
  const operation = document.definitions.find(({ kind }) => kind === 'OperationDefinition') as OperationDefinitionNode;
  const [first] = operation.selectionSet.selections;
  const field = first?.kind === 'Field' ? first.name.value : '';
  return { name: operation.name!.value, type: operation.operation, query: print(document), field };
}
