import type { schema as en } from "../en/schema";

export const schema: typeof en = {
  editAs: "编辑方式",
  asForm: "表单",
  add: (name) => `添加 ${name}`,
  leaveOut: (name) => `省略 ${name}`,
  noValue: (name) => `${name} 无值`,
  addRow: "添加一行",
  rowKeys: "用 Alt+↑ 和 Alt+↓ 移动行。",
  rowCount: (count) => `（${count}）`,
  row: (row) => `第 ${row} 行`,
  moveUp: (row) => `上移第 ${row} 行`,
  moveDown: (row) => `下移第 ${row} 行`,
  removeRow: (row) => `删除第 ${row} 行`,
  otherType: "值的类型与模式不符，按 JSON 编辑。",
  noForm: {
    any: "模式没有指定类型，按 JSON 编辑。",
    map: "模式没有指定字段，按 JSON 编辑。",
    tuple: "各位置类型不同的列表无法显示为表单，按 JSON 编辑。",
    rule: "跨多个字段的规则无法显示为表单，按 JSON 编辑。",
  },
  jsonErrorAt: (line, column, field, why) => `第 ${line} 行第 ${column} 列${field && `（${field}）`}：${why}`,
  jsonErrors: {
    InvalidSymbol: "不是 JSON；文字请加双引号", InvalidNumberFormat: "不是数字", PropertyNameExpected: "缺少带双引号的名称",
    ValueExpected: "缺少值", ColonExpected: "缺少冒号", CommaExpected: "缺少逗号", CloseBraceExpected: "缺少右花括号",
    CloseBracketExpected: "缺少右方括号", EndOfFileExpected: "结尾之后还有文字", InvalidCommentToken: "JSON 中不能有注释",
    UnexpectedEndOfComment: "JSON 中不能有注释", UnexpectedEndOfString: "缺少右引号", UnexpectedEndOfNumber: "数字不完整",
    InvalidUnicode: "\\u 转义无效", InvalidEscapeCharacter: "转义无效", InvalidCharacter: "此字符必须转义",
  },
};
