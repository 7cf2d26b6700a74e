-- Read events past a number: of a list, or all. KEYS: events, lists of events, emptied events.
-- ARGV: list or nothing, after, how many, bytes with which they end or 0. Returns number and event, in turn.
local found, size, most = {}, 0, tonumber(ARGV[4])

local function emptied(number)
  local member = redis.call('ZRANGEBYLEX', KEYS[3], '(' .. number .. '\0', '(' .. number .. '\1', 'LIMIT', 0, 1)[1]
  return member and string.sub(member, 20)
end

local function add(number, event)
  found[#found + 1], found[#found + 2] = number, event
  size = size + #(event or '')
end

local function is_full()
  return most > 0 and size >= most
end

if ARGV[1] ~= '' then
  local head = '(' .. ARGV[1] .. '\0'
  for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[2], head .. ARGV[2], head .. ':', 'LIMIT', 0, ARGV[3])) do
    local number = string.sub(member, -18)
    local id = string.match(number, '0*(%d+)$') .. '-0'
    local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
    add(number, entry and entry[2][2] or emptied(number))
    if is_full() then break end
  end
  return found
end

local kept = redis.call('XRANGE', KEYS[1], '(' .. string.match(ARGV[2], '0*(%d+)$') .. '-0', '+', 'COUNT', ARGV[3])
local bare = redis.call('ZRANGEBYLEX', KEYS[3], '(' .. ARGV[2] .. '\1', '+', 'LIMIT', 0, ARGV[3])
local k, b = 1, 1
while #found < 2 * tonumber(ARGV[3]) and not is_full() and (kept[k] or bare[b]) do
  local one = kept[k] and tonumber(string.match(kept[k][1], '^%d+'))
  local other = bare[b] and tonumber(string.sub(bare[b], 1, 18))
  if one and (not other or one < other) then
    add(string.format('%.0f', one), kept[k][2][2])
    k = k + 1
  else
    add(string.format('%.0f', other), string.sub(bare[b], 20))
    b = b + 1
  end
end
return found
