import { builder } from '../../schema/builder.ts';

export const EndpointOrderEnum = builder.enumType('EndpointOrder', {
  description: 'How endpoints are sorted.',
  values: {
    NEWEST: { value: 'NEWEST', description: 'Newest first.' },
    PATH: { value: 'PATH', description: 'By path, in ascending order.' },
    PRICE: { value: 'PRICE', description: 'Highest price first.' },
  } as const,
});

export const EndpointFilter = builder.inputType('EndpointFilter', {
  description: 'Filters endpoints. All conditions must match.',
  fields: (t) => ({
    pathPrefix: t.string({ description: 'Only endpoints whose path starts with this text, for example, "/v1/".' }),
    isActive: t.boolean({ description: 'Only endpoints that are served (`true`) or not (`false`).' }),
    from: t.field({ type: 'DateTime', description: 'Only endpoints created at or after this time.' }),
    to: t.field({ type: 'DateTime', description: 'Only endpoints created before this time.' }),
  }),
});
