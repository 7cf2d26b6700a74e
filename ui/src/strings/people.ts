/** The strings of absences, their deputies, and pauses of agents. */
export const en = {
  unknownNames: { title: (names: string) => `Nobody here is known as ${names}.`, use: (name: string) => `Use ${name}` },
  away: {
    until: (until: string, deputy: string) => `You are away until ${until}. Your deputy is ${deputy}.`,
    back: "I am back",
    open: "Set an absence…",
    title: "Absence",
    hint: "Until then your deputy sees and answers what is open to you. The record has both names.",
    deputyName: "Deputy (the name with which they sign in)",
    untilLabel: "Away until",
    save: "Start the absence",
    nobodyElse: "Only administrators could then answer in your place.",
    saveUnknown: "Name the deputy all the same",
    standsIn: (person: string, until: string) => `You answer for ${person}, away until ${until}.`,
    voted: (voter: string) => `The vote of ${voter} already counts; another person must vote.`,
  },
  pauses: {
    colon: ": ",
    all: "All agents are paused",
    one: (agent: string) => `Agent ${agent} is paused`,
    facts: (by: string, since: string, until: string | null) => (until ? `(by ${by} since ${since}, until ${until})` : `(by ${by} since ${since})`),
    effect: "You can answer. Approved calls run after the pause.",
    manage: "Manage pauses",
  },
};

export const ja: typeof en = {
  unknownNames: { title: (names: string) => `${names} という名前の人やグループはありません。`, use: (name: string) => `${name} にする` },
  away: {
    until: (until, deputy) => `${until} まで不在です。代理人は ${deputy} さんです。`,
    back: "戻りました",
    open: "不在を設定…",
    title: "不在",
    hint: "その時刻まで、あなた宛ての依頼を代理人が見て回答します。記録には両方の名前が残ります。",
    deputyName: "代理人（サインインに使う名前）",
    untilLabel: "不在の終わり",
    save: "不在を開始",
    nobodyElse: "このまま指定すると、不在の間は管理者だけが代わりに回答できます。",
    saveUnknown: "それでも指定する",
    standsIn: (person, until) => `${until} まで不在の ${person} さんの代理として回答します。`,
    voted: (voter) => `${voter} の票がすでに数えられています。別の人の投票が必要です。`,
  },
  pauses: {
    colon: "：",
    all: "すべてのエージェントを一時停止中",
    one: (agent) => `エージェント ${agent} を一時停止中`,
    facts: (by, since, until) => (until ? `（${by}、${since} から ${until} まで）` : `（${by}、${since} から）`),
    effect: "回答はできます。承認された操作は一時停止の終了後に実行されます。",
    manage: "一時停止を管理",
  },
};

export const zh: typeof en = {
  unknownNames: { title: (names: string) => `这里没有名为 ${names} 的人员或群组。`, use: (name: string) => `改为 ${name}` },
  away: {
    until: (until, deputy) => `您在 ${until} 之前不在。代理人是 ${deputy}。`,
    back: "我回来了",
    open: "设置不在…",
    title: "不在",
    hint: "在此之前，代理人可以查看并答复您能答复的请求。记录中会有双方的姓名。",
    deputyName: "代理人（登录时使用的姓名）",
    untilLabel: "不在至",
    save: "开始不在",
    nobodyElse: "如仍指定，不在期间只有管理员能代您答复。",
    saveUnknown: "仍然指定",
    standsIn: (person, until) => `您代 ${person} 答复，其在 ${until} 之前不在。`,
    voted: (voter) => `${voter} 的票已计入，须由他人投票。`,
  },
  pauses: {
    colon: "：",
    all: "所有智能体已暂停",
    one: (agent) => `智能体 ${agent} 已暂停`,
    facts: (by, since, until) => (until ? `（${by}，自 ${since} 至 ${until}）` : `（${by}，自 ${since}）`),
    effect: "您仍可答复。已批准的操作在暂停结束后执行。",
    manage: "管理暂停",
  },
};
