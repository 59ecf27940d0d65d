import { builder } from '../../schema/builder.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { SEARCHED_TYPES, type SearchedType, type SearchResult as SearchResultShape } from './results.ts';
import { type SearchService, searchInput } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    search: SearchService;
  }
}

/** The cost of a search, in points. A search can scan tens of thousands of names. */
const COST = 2_500;

const inWords = (type: SearchedType) => type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ');

const SearchResultTypeEnum = builder.enumType('SearchResultType', {
  description: 'The type of a search result.',
  values: Object.fromEntries(
    SEARCHED_TYPES.map((type) => [
      inWords(type).replaceAll(' ', '_').toUpperCase(),
      { value: type, description: `\`${type}\`` },
    ]),
  ) as Record<string, { value: SearchedType; description: string }>,
});

const SearchResult = builder.objectRef<SearchResultShape>('SearchResult').implement({
  description: 'A search result. To read the item, pass its ID to `node`.',
  fields: (t) => ({
    type: t.expose('type', { type: SearchResultTypeEnum, description: 'The type of the item.' }),
    itemId: t.exposeID('id', { description: 'The item’s identifier.' }),
    projectId: t.exposeID('projectId', { description: 'The project that the item is in. For a project, its own ID.' }),
    label: t.exposeString('label', {
      description: 'A short label for the item, such as its path, name, host, or wallet.',
    }),
    status: t.exposeString('status', {
      nullable: true,
      description: 'The item’s status, such as `SETTLED`, `ACTIVE`, or `PAUSED`; null if the item has no status.',
    }),
  }),
});

builder.queryField('search', (t) =>
  t.field({
    type: [SearchResult],
    nullable: true,
    complexity: { field: COST, multiplier: 10 },
    description:
      'Finds items by ID, transaction hash, wallet, payment identifier, or part of an endpoint’s path, a ' +
      'destination’s name or host, or an API key’s name. Returns up to 10 of each type, newest first.',
    args: {
      query: t.arg.string({
        required: true,
        description: 'What to search for: 2 to 200 characters.',
        extensions: checkedBy(searchInput),
      }),
      projectId: t.arg.id({ description: 'The project to search in. Default: all projects that you can see.' }),
    },
    resolve: (_root, { query, projectId }, { services, viewer }) => services.search.find(viewer, query, projectId),
  }),
);
