-- Save the next versions of some records, each with its event or not at all.
-- KEYS: bodies, filed, texts, lists, events, number, lists of events, emptied events.
-- ARGV, for each: place, row, content, how many of these: text, number, emptied event, number …
-- A plus after the number: this change and the next are saved together or not at all.
-- The content is divided by NUL: what is filed; the event and its lists, unless there is none.
-- Returns for each, once for those together: 1, 0 if another version is stored, or the error.

-- Calls a command with all members; more than some thousands do not fit on the stack.
local function call(command, key, members)
  for n = 1, #members, 1000 do redis.call(command, key, unpack(members, n, math.min(n + 999, #members))) end
end

-- Returns the lists in what is filed. Damaged marks name no lists; they are replaced.
local function lists_in(filed)
  local lists = {}
  pcall(function()
    -- The marks behind the lists are not decoded. Quotes inside a name are escaped, so no name ends the lists.
    local last = string.find(filed, '],"marks":', 1, true)
    local decoded = cjson.decode(last and string.sub(filed, 1, last) .. '}' or filed)
    for _, head in ipairs(decoded.lists) do lists[#lists + 1] = head .. '' end
  end)
  return lists
end

local function file(field, place, filed)
  local before = redis.call('HGET', KEYS[2], field)
  if before == filed then return end
  local new, added, removed = {}, {}, {}
  for _, head in ipairs(lists_in(filed)) do new[head] = true end
  for _, head in ipairs(lists_in(before)) do
    if not new[head] then removed[#removed + 1] = head .. place end
    new[head] = nil
  end
  for head in pairs(new) do added[#added + 1], added[#added + 2] = 0, head .. place end
  call('ZREM', KEYS[4], removed)
  call('ZADD', KEYS[4], added)
  redis.call('HSET', KEYS[2], field, filed)
end

local function note(event, names)
  local number, members = string.format('%.0f', redis.call('INCR', KEYS[6])), {}
  local padded = string.rep('0', 18 - #number) .. number
  for name in string.gmatch(names, '%Z+') do members[#members + 1], members[#members + 2] = 0, name .. '\0' .. padded end
  redis.call('XADD', KEYS[5], number .. '-0', 'event', event)
  call('ZADD', KEYS[7], members)
end

-- An entry of a stream cannot be changed: it is taken out, and what is left of it stands beside the stream.
local function empty(number, event)
  redis.call('XDEL', KEYS[5], string.match(number, '0*(%d+)$') .. '-0')
  redis.call('ZREMRANGEBYLEX', KEYS[8], '(' .. number .. '\0', '(' .. number .. '\1')
  redis.call('ZADD', KEYS[8], 0, number .. '\0' .. event)
end

-- Returns 1 if a change was saved before, 0 if another version is stored, and nil if it can be saved.
local function standing(place, row)
  local version, token = string.match(row, '^(%d+) (%S+) ')
  local stored, by = string.match(redis.call('HGET', KEYS[1], string.sub(place, 19)) or '0 - ', '^(%d+) (%S+) ')
  -- The first try was done and its reply was lost.
  if stored == version and by == token then return 1 end
  if tonumber(stored) + 1 ~= tonumber(version) then return 0 end
end

local function save(place, row, content, first, last)
  local field = string.sub(place, 19)
  -- First the command that is refused when memory is short: after it none is.
  redis.call('HSET', KEYS[1], field, row)
  local event_at = string.find(content, '\0', 1, true)
  file(field, place, event_at and string.sub(content, 1, event_at - 1) or content)
  if first <= last and ARGV[first] ~= '' then redis.call('HSET', KEYS[3], field, ARGV[first]) end
  for n = first + 1, last, 2 do empty(ARGV[n], ARGV[n + 1]) end
  if event_at then
    local names_at = string.find(content, '\0', event_at + 1, true)
    note(string.sub(content, event_at + 1, names_at - 1), string.sub(content, names_at))
  end
end

local function save_together(group)
  for _, each in ipairs(group) do
    local known = standing(ARGV[each.at], ARGV[each.at + 1])
    if known then return known end
  end
  for _, each in ipairs(group) do save(ARGV[each.at], ARGV[each.at + 1], ARGV[each.at + 2], each.at + 4, each.last) end
  return 1
end

local results, n = {}, 1
while ARGV[n] do
  local group, more = {}, '+'
  while more == '+' do
    local count
    count, more = string.match(ARGV[n + 3], '^(%d+)(%+?)$')
    group[#group + 1] = {at = n, last = n + 3 + tonumber(count)}
    n = group[#group].last + 1
  end
  local is_done, result = pcall(save_together, group)
  results[#results + 1] = (is_done or type(result) == 'table') and result or {err = result}
end
return results
