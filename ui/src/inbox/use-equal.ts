import { useState } from "react";
import type { Request } from "../api/types";
import type { BulkDecision } from "./bulk";
import type { InboxState } from "./use-inbox";

/** The requests that are equal to the open one, and whether a decision on it answers them too. */
export function useEqual({ view, openId, bulk, refusalOf }: InboxState) {
  const [single, setSingle] = useState<string>();
  const row = view.rows.find(({ request, bundle }) => bundle === "equal" && request.id === openId);
  const others = row?.others ?? [];
  const answersAll = openId !== undefined && single !== openId;
  return {
    count: others.length + 1,
    answersAll,
    setAnswersAll: (isAll: boolean) => setSingle(isAll ? undefined : openId),
    /** Give the decision on the open request to the others, each with its own digest. An edit concerns only one. */
    answerOthers: ({ status, response }: Request) => {
      if (!answersAll || others.length === 0 || status !== "completed" || !response) return;
      const { decision } = response;
      if (decision !== "approve" && decision !== "reject") return;
      void bulk.decide(others.filter((request) => refusalOf(request, decision satisfies BulkDecision) === null), decision, response.message ?? "");
    },
  };
}

