import { parse, print } from 'graphql';
import { expect, test } from 'vitest';
import { exportDocument } from '../../../src/rest/export/document.ts';

const plain = (text: string) => print(parse(text));

test('the document of an export has the fields and filters of its list, and reads pages starting with the oldest item', () => {
  const list = parse(`
    fragment Fields on Payment { id status }
    query List($projectId: ID!, $first: Int, $after: String, $filter: PaymentFilter, $expandCustomer: Boolean = false) {
      project(id: $projectId) {
        id
        payments(first: $first, after: $after, filter: $filter) {
          nodes { ...Fields customer @include(if: $expandCustomer) { id } }
          pageInfo { endCursor hasNextPage }
          totalCount
        }
      }
    }`);
  expect(print(exportDocument(list, ['project', 'payments'], true))).toBe(
    plain(`
    fragment Fields on Payment { id status }
    query List($projectId: ID!, $first: Int, $after: String, $filter: PaymentFilter, $last: Int, $before: String) {
      project(id: $projectId) {
        payments(first: $first, after: $after, filter: $filter, last: $last, before: $before) {
          nodes { ...Fields }
          pageInfo { startCursor hasPreviousPage }
        }
      }
    }`),
  );
});

test('the document of an export that isn’t a list selects only its rows', () => {
  const document = parse(
    'query Revenue($id: ID!) { project(id: $id) { revenue { from buckets { start } tops { id } } } }',
  );
  expect(print(exportDocument(document, ['project', 'revenue', 'buckets'], false))).toBe(
    plain('query Revenue($id: ID!) { project(id: $id) { revenue { buckets { start } } } }'),
  );
});

test('a document that doesn’t select the rows is rejected', () => {
  expect(() => exportDocument(parse('{ project { id } }'), ['project', 'payments'], true)).toThrow(
    'does not select payments',
  );
});
