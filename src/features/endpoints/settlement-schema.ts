import { SettlementOrder } from '../../generated/prisma/enums.ts';
import { builder } from '../../schema/builder.ts';

export const SettlementOrderEnum = builder.enumType('SettlementOrder', {
  description: 'When a payment is settled.',
  values: {
    AFTER_RESPONSE: {
      value: SettlementOrder.AFTER_RESPONSE,
      description:
        'Payments are settled after the upstream responds. The response is held until then. Buyers pay only for successful responses.',
    },
    BEFORE_REQUEST: {
      value: SettlementOrder.BEFORE_REQUEST,
      description:
        'Payments are settled before the upstream is called. The response is streamed, with no size limit. If the call fails, the buyer can retry once for free.',
    },
  },
});
