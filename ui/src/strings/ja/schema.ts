import type { schema as en } from "../en/schema";

export const schema: typeof en = {
  editAs: "編集の形式",
  asForm: "フォーム",
  add: (name) => `${name} を追加`,
  leaveOut: (name) => `${name} を省略`,
  noValue: (name) => `${name} は値なし`,
  addRow: "行を追加",
  rowKeys: "Alt+↑ と Alt+↓ で行を移動します。",
  rowCount: (count) => `（${count}）`,
  row: (row) => `${row} 行目`,
  moveUp: (row) => `${row} 行目を上へ`,
  moveDown: (row) => `${row} 行目を下へ`,
  removeRow: (row) => `${row} 行目を削除`,
  otherType: "値の型がスキーマと異なるため、JSON で編集します。",
  noForm: {
    any: "スキーマに型の指定がないため、JSON で編集します。",
    map: "スキーマに項目の指定がないため、JSON で編集します。",
    tuple: "位置ごとに型が違うリストはフォームにできないため、JSON で編集します。",
    rule: "複数の項目にまたがる規則はフォームにできないため、JSON で編集します。",
  },
  jsonErrorAt: (line, column, field, why) => `${line} 行 ${column} 列${field && `（${field}）`}：${why}`,
  jsonErrors: {
    InvalidSymbol: "JSON ではありません。文字列は二重引用符で囲んでください", InvalidNumberFormat: "数値ではありません", PropertyNameExpected: "二重引用符で囲んだ名前が必要です",
    ValueExpected: "値が必要です", ColonExpected: "コロンが必要です", CommaExpected: "カンマが必要です", CloseBraceExpected: "閉じる波括弧が必要です",
    CloseBracketExpected: "閉じる角括弧が必要です", EndOfFileExpected: "末尾の後に文字があります", InvalidCommentToken: "コメントは JSON では使えません",
    UnexpectedEndOfComment: "コメントは JSON では使えません", UnexpectedEndOfString: "閉じる引用符が必要です", UnexpectedEndOfNumber: "数値が途中で終わっています",
    InvalidUnicode: "\\u の書き方が正しくありません", InvalidEscapeCharacter: "エスケープの書き方が正しくありません", InvalidCharacter: "この文字はエスケープが必要です",
  },
};
