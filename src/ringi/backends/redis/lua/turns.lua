-- Read the places of what is overdue, of each tenant a share. KEYS: lists.
-- ARGV: what the names of the lists begin with, the latest deadline, how many.
local limit, tenants, at = tonumber(ARGV[3]), {}, '[' .. ARGV[1]
while true do
  local first = redis.call('ZRANGEBYLEX', KEYS[1], at, '(' .. ARGV[1] .. '\255', 'LIMIT', 0, 1)[1]
  if not first then break end
  local name, rest = string.match(first, '^(%Z+)%z(.*)$')
  local due = string.sub(rest, 1, #ARGV[2])
  if due <= ARGV[2] then tenants[#tenants + 1] = {name, due} end
  at = '(' .. name .. '\1'
end
table.sort(tenants, function(one, other) return one[2] < other[2] end)

local found, share = {}, math.max(1, math.floor(limit / #tenants))
for n = 1, math.min(limit, #tenants) do
  local head = tenants[n][1] .. '\0'
  local last = '(' .. head .. ARGV[2] .. ':'
  for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], '[' .. head, last, 'LIMIT', 0, share)) do
    found[#found + 1] = string.sub(member, #head + #ARGV[2] + 1)
  end
end
return found
